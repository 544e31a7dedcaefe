import { type CapabilityName, type CapabilityProof, capabilityNames } from "@reins/machine/harness/Capability"

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

/** The word of a table for what is proven of a capability. */
export const shownAs = (proofs: ProvenProvider["proofs"], name: CapabilityName): string =>
  words[proofs.find(({ capability }) => capability === name)?.shown ?? "unknown"]

/** A table in Markdown: a column for each provider, and a row for each capability. */
export const proofTable = (providers: ReadonlyArray<ProvenProvider>): string => {
  const line = (cells: ReadonlyArray<string>) => `| ${cells.join(" | ")} |\n`
  const rows = capabilityNames.map((name) => [`\`${name}\``, ...providers.map(({ proofs }) => shownAs(proofs, name))])
  return [
    line(["", ...providers.map(({ provider_id }) => `\`${provider_id}\``)]),
    line(["---", ...providers.map(() => "---")]),
    ...rows.map(line)
  ].join("")
}
