import { spawnSync } from "node:child_process"
import { assert, it } from "@effect/vitest"
import { BranchInput, branchName, isRefName } from "@reins/base/domain/RefName"
import { DeliveryInput } from "@reins/core/deliveries/DeliveriesApi"
import { ProjectSpec } from "@reins/core/projects/Project"
import { MergeRequestInput } from "@reins/core/requests/RequestsApi"
import { SessionInput } from "@reins/core/sessions/creation/SessionsApi"
import { plainGit, temporary } from "@reins/testing/git/Fixture"
import { share } from "@reins/testing/Volume"
import { Effect, Schema } from "effect"
import fc from "fast-check"

/** Asks git about a name. A NUL cannot be passed to it, and no name has one. */
const gitTakes = (cwd: string, name: string): boolean =>
  !name.includes("\0") && spawnSync("git", ["check-ref-format", "--branch", name], { cwd }).status === 0

const piece = fc.oneof(
  { weight: 3, arbitrary: fc.string({ unit: "binary-ascii", minLength: 1, maxLength: 4 }) },
  { weight: 3, arbitrary: fc.string({ unit: "grapheme", minLength: 1, maxLength: 4 }) },
  {
    weight: 5,
    arbitrary: fc.constantFrom(
      ...[
        "/",
        ".",
        "..",
        ".lock",
        ".lock/",
        "-",
        "@",
        "@{",
        "{",
        "}",
        "HEAD",
        "refs/heads/",
        "#",
        ";",
        "'",
        '"',
        "%2F"
      ],
      ...[
        "+",
        "&",
        "=",
        "$(x)",
        "`",
        "|",
        "<",
        ">",
        "!",
        "é",
        "e\u0301",
        "\u{1f600}",
        "\u200d",
        "\u202e",
        "\u0085",
        " "
      ]
    )
  }
)
const name = fc.oneof(
  fc.array(piece, { minLength: 1, maxLength: 6 }).map((pieces) => pieces.join("")),
  fc
    .array(fc.string({ unit: "grapheme-ascii", minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 4 })
    .map((parts) => parts.join("/"))
)

it.scoped("a name is valid exactly when git takes it as that of a branch", () =>
  Effect.map(temporary, (repository) => {
    plainGit(repository, "init", "--quiet")
    fc.assert(
      fc.property(name, (given) => {
        assert.strictEqual(isRefName(given), gitTakes(repository, given), JSON.stringify(given))
      }),
      { numRuns: share(80, 2000) }
    )
  })
)

it.each([
  ["a#b", true],
  ["fix;drop", true],
  ["it's", true],
  ['say"yes"', true],
  ["a@b", true],
  ["a%2Fb", true],
  ["c++&d=e", true],
  ["ünï/çødé", true],
  ["\u{1f600}", true],
  ["a/-b", true],
  ["a/HEAD", true],
  ["x".repeat(250), true],
  ["x".repeat(251), false],
  ["é".repeat(126), false],
  [Array(4).fill("x".repeat(200)).join("/"), true],
  [Array(6).fill("x".repeat(200)).join("/"), false],
  ["", false],
  ["HEAD", false],
  ["@", true],
  ["-a", false],
  ["a.lock/b", false],
  ["a\u007f", false],
  ["\ud800", false]
])("%j is %s", (given, valid) => {
  assert.strictEqual(isRefName(given), valid)
  assert.strictEqual(Schema.is(BranchInput)(`refs/heads/${given}`), valid && given.length < 990)
  assert.strictEqual(branchName(`refs/heads/${given}`), given)
})

it("a name that can never be valid is refused wherever one is given", () => {
  const places: ReadonlyArray<(name: string) => boolean> = [
    (base_ref) => Schema.is(SessionInput)({ repository: { url: "https://git.example/a.git", base_ref } }),
    (base_ref) => Schema.is(ProjectSpec)({ repository: { url: "https://git.example/a.git", base_ref } }),
    (branch_prefix) => Schema.is(ProjectSpec)({ delivery: { branch_prefix } }),
    (target_ref) => Schema.is(DeliveryInput)({ target_ref }),
    (base_branch) => Schema.is(MergeRequestInput)({ base_branch })
  ]
  for (const takes of places) {
    for (const name of ["main", "fix#1", "ünï/\u{1f600}", "refs/heads/main"]) assert.isTrue(takes(name), name)
    for (const name of [
      "",
      "a b",
      "a..b",
      "a.lock",
      "-x",
      "a~1",
      "a^",
      "a:b",
      "a?",
      "a*",
      "a[0]",
      "a\\b",
      "a\u0001",
      "@{u}",
      "a.",
      "HEAD"
    ])
      assert.isFalse(takes(name), name)
  }
})
