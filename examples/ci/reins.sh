#!/bin/sh
# Has an agent work on this repository. It needs `reins`, REINS_URL and REINS_API_KEY.
#
# TASK      the task. It comes by the environment, so that no word of it is read by a shell.
# BRANCH    the branch to deliver; nothing is delivered without it
# MODEL     the model; the preferred one of the connection when absent
# PROJECT   the project to start from; the repository of this folder when absent
# SUMMARY   a file for the report in Markdown; summary.md when absent
# OUTPUT    a file for the last words of the agent; answer.md when absent
set -eu
: "${TASK:?Set TASK to what the agent is to do.}"

set -- run --output "${OUTPUT:-answer.md}" --summary "${SUMMARY:-summary.md}"
[ -z "${MODEL:-}" ] || set -- "$@" --model "$MODEL"
[ -z "${PROJECT:-}" ] || set -- "$@" --project "$PROJECT"
[ -z "${BRANCH:-}" ] || set -- "$@" --deliver --branch "$BRANCH"

# Without an argument the task is read from the standard input, also one that begins with a dash.
printf '%s' "$TASK" | reins "$@"
