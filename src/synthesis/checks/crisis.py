"""Signs of a crisis in the user's words, and steps towards safety in the reply: read by several checks."""

from synthesis.checks.registry import share_signal
from synthesis.rules.schema import Signal

CUE = share_signal(Signal("crisis.cue", "user", "a sign of suicide, self-harm, violence or an emergency"))
SAFETY_STEP = share_signal(Signal("crisis.step", "assistant", "a directive that serves immediate safety"))
