import { constants } from "node:os"
import type { AgentExit } from "../Executor.js"

/** An end with the reason for it, where there is one. */
export const because = (exit: AgentExit, reason: string | undefined): AgentExit =>
  reason === undefined ? exit : { ...exit, reason }

/** The end of an agent that something else stands for. Of one that a signal has ended, that gives the code of a shell. */
export const exitInside = ({ code, signal }: AgentExit): AgentExit => {
  const name = Object.entries(constants.signals).find(([, number]) => code === 128 + number)?.[0]
  return name === undefined ? { code, signal } : { code: null, signal: name }
}
