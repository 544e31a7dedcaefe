// Prints, as JSON, what the linter Spectral finds in an OpenAPI document. It is a process of its own: it computes for long, and a test that
// computes for a minute is cut off from its runner.
import { readFileSync } from "node:fs"
import spectral from "@stoplight/spectral-core"
import parsers from "@stoplight/spectral-parsers"
import rulesets from "@stoplight/spectral-rulesets"

const linter = new spectral.Spectral()
// Whom to ask is another person at each installation: there is no address to give.
linter.setRuleset({ extends: [[rulesets.oas, "all"]], rules: { "contact-properties": "off" } })
const text = readFileSync(process.argv[2], "utf8")
const found = await linter.run(new spectral.Document(text, parsers.Json, "openapi.json"))
process.stdout.write(JSON.stringify(found.map(({ code, message, path }) => `${path.join("/")} ${code}: ${message}`)))
