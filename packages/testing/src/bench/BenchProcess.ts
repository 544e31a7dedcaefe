import { createServer } from "node:net"
import { Boot } from "@reins/base/base/Boot"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import { ConnectionKinds } from "@reins/core/connections/ConnectionKinds"
import { fileLocks } from "@reins/core/worktrees/SessionLock"
import { AgentPool } from "@reins/machine/agents/AgentPool"
import { Bench } from "@reins/machine/bench/Bench"
import * as BenchHere from "@reins/machine/bench/BenchHere"
import { Executors } from "@reins/machine/executor/Executors"
import { Files } from "@reins/machine/files/Files"
import { Forges } from "@reins/machine/forge/Forges"
import { Git } from "@reins/machine/git/Git"
import { Harness } from "@reins/machine/harness/Harness"
import { HarnessInstall } from "@reins/machine/harness/Install"
import { Outbound } from "@reins/machine/outbound/Outbound"
import { WayOut } from "@reins/machine/outbound/WayOut"
import { CredentialProxy } from "@reins/machine/relay/gateway/CredentialProxy"
import { Loans } from "@reins/machine/relay/Loans"
import { ToolLoans } from "@reins/machine/relay/mcp/ToolLoans"
import { Effect, Layer } from "effect"
import { smallAgents } from "../harness/SmallAgent.js"
import { serve } from "./BenchServer.js"

// The process of a bench: it has the files and the agents of sessions, and no database. It serves one connection and ends with it.

const [socketPath = "", dataDir = "", cacheDir = ""] = process.argv.slice(2)

const config = CoreConfig.layer({
  dataDir,
  cacheDir,
  executors: ["local"],
  allowLocalRepositories: true,
  allowPrivateHosts: ["127.0.0.1"],
  agentFreeMemory: 0
})

const machine = BenchHere.layer.pipe(
  Layer.provideMerge(AgentPool.layer),
  Layer.provideMerge(Layer.mergeAll(CredentialProxy.layer, ToolLoans.layer, fileLocks)),
  Layer.provideMerge(Loans.layer),
  Layer.provideMerge(ConnectionKinds.layer),
  Layer.provideMerge(Layer.mergeAll(Harness.layer, HarnessInstall.layer(cacheDir), Forges.layer)),
  Layer.provideMerge(
    Layer.mergeAll(smallAgents, Executors.layer, Files.layer, Outbound.layer, Git.layerWith({ allowFile: true }))
  ),
  Layer.provideMerge(WayOut.layer),
  Layer.provideMerge(Layer.merge(config, Boot.layerSingle))
)

const program = Effect.gen(function* () {
  const bench = yield* Bench
  yield* Effect.async<void>((resume) => {
    const server = createServer((socket) => {
      server.close()
      resume(serve(bench, socket))
    })
    server.listen(socketPath, () => process.stdout.write("ready\n"))
  })
}).pipe(Effect.provide(machine))

Effect.runFork(program).addObserver((exit) => {
  if (exit._tag === "Failure") process.stderr.write(`${exit.cause}\n`)
  process.exit(exit._tag === "Failure" ? 1 : 0)
})
