import type { AgentCommand } from "../Executor.js"
import * as Bridge from "./Bridge.js"

/** The words of the shell in the sandbox: starts the bridge, where there are ports, and becomes the agent. The bridge belongs to init. */
const withBridge = '(exec env -i "$1" -e "$2" $3 </dev/null >/dev/null 2>&1 &) && shift 3 && exec "$@"'

/** The agent's command inside of the sandbox. */
export const inside = (
  { args, executable, relayPorts }: Pick<AgentCommand, "args" | "executable" | "relayPorts">,
  rlimits: ReadonlyArray<string>
): ReadonlyArray<string> => {
  const agent = [...rlimits, executable, ...args]
  return relayPorts.length === 0
    ? agent
    : ["/bin/sh", "-c", withBridge, "sh", process.execPath, Bridge.program, relayPorts.join(" "), ...agent]
}
