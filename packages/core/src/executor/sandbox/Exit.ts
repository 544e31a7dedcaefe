import { constants } from "node:os"
import type { AgentExit } from "../Executor.js"

/** The end of an agent that something else stands for. Of one that a signal has ended, that gives the code of a shell. */
export const exitInside = ({ code, signal }: AgentExit): AgentExit => {
  const name = Object.entries(constants.signals).find(([, number]) => code === 128 + number)?.[0]
  return name === undefined ? { code, signal } : { code: null, signal: name }
}
