import { runCommand } from "@reins/cli/CommandLine"
import packageJson from "../../package.json" with { type: "json" }
import { flushLog } from "../LogLines.js"
import { commands } from "./Commands.js"
import { reasonOfDefect } from "./DefectReason.js"

/** Runs what was typed after `reins`, as `runCommand` says. */
export const commandLine = (typed: ReadonlyArray<string>) =>
  runCommand({ commands, version: packageJson.version, beforeFailure: flushLog, reasonOf: reasonOfDefect }, typed)
