import { Schema } from "effect"

const NetworkHost = Schema.String.pipe(
  Schema.maxLength(260),
  Schema.pattern(
    /^(?:\*\.)?[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*(?::[1-9][0-9]{0,4})?$/
  )
)

export const NetworkAccess = Schema.Union(
  Schema.Literal("none", "open"),
  Schema.Array(NetworkHost).pipe(Schema.minItems(1), Schema.maxItems(100))
).annotations({
  identifier: "NetworkAccess",
  description:
    "What agents may connect to besides their model: `none`, `open` for every host of the public Internet, or a list of hosts in small letters, " +
    "as in `registry.example` or `*.github.com` for all below it, each on port 443 unless it names another, as in `registry.example:8443`."
})
export type NetworkAccess = typeof NetworkAccess.Type
