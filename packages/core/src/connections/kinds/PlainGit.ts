import { Effect, Schema } from "effect"
import { field } from "../../domain/Field.js"
import { type ConnectionKind, credentialOf, Secret } from "../ConnectionKind.js"
import { inconclusive } from "../Verdict.js"

const noUrl = inconclusive(
  "no_endpoint",
  "unverified",
  "A credential for git names no host, so it cannot be tried by itself. A session that clones with it shows if it is accepted."
)

/** A name and a password for git, for a repository on any host. */
export const plainGit: ConnectionKind = {
  kind: "git",
  credential: credentialOf(
    Schema.Struct({
      username: field(
        Schema.String.pipe(Schema.minLength(1), Schema.maxLength(255)),
        "The name that git logs in with, at most 255 characters."
      ),
      password: field(Secret, "The password or token that git logs in with. It never comes back.")
    })
  ),
  settings: new Set(["username"]),
  capabilities: ["authentication"],
  forGit: true,
  gateway: null,
  probe: () => Effect.succeed(noUrl)
}
