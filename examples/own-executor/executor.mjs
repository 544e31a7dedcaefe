// An executor of one's own: it starts every agent through another command and keeps a record of what it ran. The command may be `nice`, as
// here, or what gives a real boundary: `bwrap`, `docker run`, `ssh` to another machine.
import { constants } from "node:fs"
import { access, appendFile } from "node:fs/promises"
import { ExecutorError, Executors } from "@reins/core/executor/Executors"
import { Effect, Layer } from "effect"

/** @import { AgentCommand, AgentExit, Executor } from "@reins/core/executor/Executors" */

/** The command starts in any case, so the agent's own program is looked at first. */
const checkExecutable = (/** @type {string} */ executable) =>
  Effect.tryPromise({
    try: () => access(executable, constants.X_OK),
    catch: () => new ExecutorError({ kind: "spawn_failed", message: `${executable} cannot be started.` })
  })

/**
 * The executor `inner` behind a command that gets the agent's own as its arguments.
 *
 * @param {Executor} inner
 * @param {{ backend: string, command: ReadonlyArray<string>, recordFile: string }} options
 * @returns {Executor}
 */
export const through = (inner, { backend, command, recordFile }) => {
  const record = (/** @type {object} */ entry) =>
    Effect.promise(() => appendFile(recordFile, `${JSON.stringify(entry)}\n`, { mode: 0o600 }))
  return {
    // Sessions name it in `executor.backend`, and their rows keep that name.
    backend,
    // Say what is really kept apart. `nice` keeps nothing apart, so this is the isolation of the local executor.
    isolation: { ...inner.isolation, summary: `Through ${command.join(" ")}. ${inner.isolation.summary}` },
    spawn: (agent) =>
      Effect.gen(function* () {
        yield* checkExecutable(agent.executable)
        const started = Date.now()
        const agentProcess = yield* inner.spawn({
          ...agent,
          // Executors take absolute paths, and `env` finds the command on the PATH.
          executable: "/usr/bin/env",
          args: [...command, agent.executable, ...agent.args]
        })
        // The environment of an agent holds secrets: record names and never values.
        yield* record({ event: "started", lease: agent.leaseId, executable: agent.executable, pid: agentProcess.pid })
        yield* Effect.addFinalizer(() =>
          Effect.flatMap(agentProcess.exit, (exit) =>
            record({ event: "ended", lease: agent.leaseId, ...exit, ms: Date.now() - started })
          )
        )
        // Finalizers run in the opposite order, so the agent is stopped before its end is recorded.
        yield* Effect.addFinalizer(() => agentProcess.stop())
        return agentProcess
      }),
    // The lease is a mark on every process, which a command that only starts another one hands on.
    reap: inner.reap
  }
}

/**
 * Agents with a lower priority than everything else on the machine, as the default of the installation; `local` can be chosen, too.
 *
 * @param {string} recordFile
 */
export const niceExecutors = (recordFile) =>
  Layer.unwrapEffect(
    Effect.gen(function* () {
      const local = yield* Executors.local
      const nice = through(local, { backend: "nice", command: ["nice", "-n", "10"], recordFile })
      return Executors.layerOf([nice, local])
    })
  )
