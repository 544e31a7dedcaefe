import type { Harness } from "@reins/client"

type Named = Pick<Harness, "provider_id" | "display_name">

/** The label of an agent in a list: its name, and its id where another one of the list has the same name. */
export const agentLabel = ({ display_name, provider_id }: Named, all: ReadonlyArray<Named>): string =>
  all.some((other) => other.provider_id !== provider_id && other.display_name === display_name)
    ? `${display_name} (${provider_id})`
    : display_name
