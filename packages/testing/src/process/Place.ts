import { existsSync, mkdtempSync, rmSync, statfsSync } from "node:fs"
import { homedir, tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Exit, Redacted, Scope } from "effect"
import { type Gateway, startGateway } from "reins-example-scripted-gateway/gateway.mjs"
import { afterAll, afterEach, beforeAll, beforeEach } from "vitest"
import { agentsIn, endEach } from "../executor/Processes.js"
import { postgresDatabase } from "../store/Databases.js"
import { killServers } from "./ServerProcess.js"

/** The directories of one test. They are removed when the test has ended, and the servers and agents that it started are ended. */
export interface Place {
  /** A directory that is there and empty. */
  readonly directory: string
  /** The data directory of an installation in the place. */
  readonly dataDir: string
  readonly gateway: Gateway
  /** The URL of a fresh PostgreSQL database. */
  readonly newPostgresDatabase: () => Promise<string>
  /** Ends the servers and agents of the place now, instead of at the end of the test. */
  readonly endProcesses: () => Promise<void>
}

/** In memory where there is room. A killed process loses nothing that the system holds, so a wait for a disk would prove nothing. */
export const inMemory = (): string => (roomy("/dev/shm") ? "/dev/shm" : tmpdir())

/** A home for agents that refuse one in the temporary directory, as codex does. */
export const inHome = homedir

/** Makes a new place for each test of the file that calls it. */
export const placeForEachTest = (parent: () => string = tmpdir): Place =>
  placeBetween({ before: beforeEach, after: afterEach }, parent)

/** Makes one place for all tests of the file that calls it. */
export const placeForFile = (parent: () => string = tmpdir): Place =>
  placeBetween({ before: beforeAll, after: afterAll }, parent)

/** The moments between which something is there. */
export interface Moments {
  readonly before: (begin: () => Promise<void>) => void
  readonly after: (end: () => Promise<void>) => void
}

const placeBetween = ({ after, before }: Moments, parent: () => string): Place => {
  let directory: string
  let gateway: Gateway
  let scope: Scope.CloseableScope
  const endProcesses = async () => {
    await killServers()
    endEach(agentsIn(directory))
  }
  before(async () => {
    directory = mkdtempSync(join(parent(), ".reins-test-"))
    gateway = await startGateway()
    scope = await Effect.runPromise(Scope.make())
  })
  after(async () => {
    await endProcesses()
    await gateway.close()
    await Effect.runPromise(Scope.close(scope, Exit.void))
    rmSync(directory, { recursive: true, force: true, maxRetries: 5 })
  })
  return {
    get directory() {
      return directory
    },
    get dataDir() {
      return join(directory, "data")
    },
    get gateway() {
      return gateway
    },
    newPostgresDatabase: async () => Redacted.value(await Effect.runPromise(Scope.extend(postgresDatabase, scope))),
    endProcesses
  }
}

const roomy = (directory: string): boolean => {
  if (!existsSync(directory)) return false
  const { bavail, bsize } = statfsSync(directory)
  return bavail * bsize > 2 * 1024 ** 3
}
