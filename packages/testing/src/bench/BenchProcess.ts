import { createServer } from "node:net"
import { AgentPool } from "@reins/core/agents/AgentPool"
import { Boot } from "@reins/core/base/Boot"
import { CoreConfig } from "@reins/core/base/CoreConfig"
import { Bench } from "@reins/core/bench/Bench"
import * as BenchHere from "@reins/core/bench/BenchHere"
import { ConnectionKinds } from "@reins/core/connections/ConnectionKinds"
import { Executors } from "@reins/core/executor/Executors"
import { Files } from "@reins/core/files/Files"
import { Forges } from "@reins/core/forge/Forges"
import { Git } from "@reins/core/git/Git"
import { Harness } from "@reins/core/harness/Harness"
import { HarnessInstall } from "@reins/core/harness/Install"
import { Outbound } from "@reins/core/outbound/Outbound"
import { WayOut } from "@reins/core/outbound/WayOut"
import { CredentialProxy } from "@reins/core/relay/gateway/CredentialProxy"
import { Loans } from "@reins/core/relay/Loans"
import { ToolLoans } from "@reins/core/relay/mcp/ToolLoans"
import { fileLocks } from "@reins/core/worktrees/SessionLock"
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
