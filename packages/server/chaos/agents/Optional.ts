import { GatewayProtocol } from "@reins/base/domain/GatewayProtocol"
import { Manifest } from "@reins/machine/harness/Manifest"
import { type OptionalProvider, readOptional } from "@reins/machine/harness/OptionalManifests"
import { makeInstallation, reins } from "@reins/testing/process/ServerProcess"
import { Effect, Schema } from "effect"
import { assert } from "vitest"

/** The first protocol that the agent speaks. */
export const protocolOf = async (id: OptionalProvider) => {
  const { credential } = Schema.decodeUnknownSync(Manifest)(await Effect.runPromise(readOptional(id)))
  return credential?.protocols?.[0] ?? GatewayProtocol.literals[0]
}

/** Enables and installs a provider that is off as it comes. */
export const enable = async (dataDir: string, id: OptionalProvider) => {
  await makeInstallation(dataDir)
  for (const command of ["enable", "install"]) {
    const { status, stderr } = reins(dataDir, ["harnesses", command, id])
    assert.strictEqual(status, 0, stderr)
  }
}
