import { type CapabilityName, type CapabilityProof, capabilityNames } from "@reins/core/harness/Capability"

/** A provider with what is proven of it. */
export interface ProvenProvider {
  readonly provider_id: string
  readonly proofs: ReadonlyArray<CapabilityProof>
}

const words: Readonly<Record<CapabilityProof["shown"], string>> = {
  supported: "yes",
  unsupported: "no",
  unknown: "?",
  unproven: "unproven"
}

/** A table in Markdown: a column for each provider, and a row for each of the capabilities. */
export const proofTable = (
  providers: ReadonlyArray<ProvenProvider>,
  capabilities: ReadonlyArray<CapabilityName> = capabilityNames
): string => {
  const line = (cells: ReadonlyArray<string>) => `| ${cells.join(" | ")} |\n`
  const rows = capabilities.map((name) => [
    `\`${name}\``,
    ...providers.map(({ proofs }) => words[proofs.find(({ capability }) => capability === name)?.shown ?? "unknown"])
  ])
  return [
    line(["", ...providers.map(({ provider_id }) => `\`${provider_id}\``)]),
    line(["---", ...providers.map(() => "---")]),
    ...rows.map(line)
  ].join("")
}
