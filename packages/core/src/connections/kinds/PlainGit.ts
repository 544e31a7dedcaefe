import { Effect, Schema } from "effect"
import { type ConnectionKind, credentialOf, Secret } from "../ConnectionKind.js"
import { inconclusive } from "../Verdict.js"

const noUrl = inconclusive(
  "no_endpoint",
  "unverified",
  "A credential for git has no address of its own to ask. A session that clones with it will tell."
)

/** A name and a password for git, on whatever host a repository is. */
export const plainGit: ConnectionKind = {
  kind: "git",
  credential: credentialOf(
    Schema.Struct({ username: Schema.String.pipe(Schema.minLength(1), Schema.maxLength(255)), password: Secret })
  ),
  settings: new Set(["username"]),
  capabilities: ["authentication"],
  forGit: true,
  gateway: null,
  probe: () => Effect.succeed(noUrl)
}
