import { assert, describe, it } from "vitest"
import { findingsOf, sentencesOf } from "../../../../scripts/words.mjs"

const texts = (markdown: string) => sentencesOf(markdown).map(({ text }) => text)
const found = (markdown: string) => findingsOf("page.md", markdown)

const words = (count: number) => Array.from({ length: count }, (_, index) => `w${index}`).join(" ")

describe("a page is read as sentences", () => {
  it("that end at a stop, and not at an abbreviation, a version, a file or a path", () => {
    assert.deepStrictEqual(texts("One. Two! Is it three? Yes."), ["One.", "Two!", "Is it three?", "Yes."])
    assert.deepStrictEqual(texts("Take a forge, e.g. Gitea, with Node 20.19.\nRead README.md first."), [
      "Take a forge, e.g. Gitea, with Node 20.19.",
      "Read README.md first."
    ])
    assert.deepStrictEqual(texts("Ask `GET .../validations` first. (It is quick.) Then wait."), [
      "Ask `GET .../validations` first.",
      "(It is quick.)",
      "Then wait."
    ])
  })

  it("in which a code span is one word, and a link and what is bold are their text", () => {
    assert.deepStrictEqual(sentencesOf("Run `npm run lint. Now` on **[this page](docs/a b.md)**."), [
      { line: 1, words: 5, text: "Run `npm run lint. Now` on this page." }
    ])
  })

  it("of which each knows its line, over wrapped lines and code spans", () => {
    assert.deepStrictEqual(
      sentencesOf("# A title\n\nOne `a\nb` here. Two\nmore.\nThree.").map(({ line }) => line),
      [3, 4, 6]
    )
  })

  it("of paragraphs, list items and cells, and of nothing that is code or that a program writes", () => {
    const page = [
      "- an item",
      "  that goes on",
      "- another",
      "",
      "| Who | What |",
      "|---|---|",
      "| a cell | `a \\| b` too |",
      "",
      "```sh",
      "echo code",
      "```",
      "<!-- figures: written by bench/table.mjs -->",
      "Figures.",
      "<!-- end of figures -->",
      "The end."
    ].join("\n")
    assert.deepStrictEqual(texts(page), ["an item that goes on", "another", "a cell", "`a \\| b` too", "The end."])
  })
})

describe("a page fails", () => {
  it("for a sentence of more than 25 words, with its place, the count and the sentence", () => {
    assert.deepStrictEqual(found(`${words(25)}.`), [])
    assert.deepStrictEqual(found(`Short.\n${words(26)}.`), [`page.md:2: 26 words, at most 25: ${words(26)}.`])
    assert.lengthOf(found(`| a |\n|---|\n| ${words(26)} |`), 1)
  })

  it.each([
    "What is asked waits.",
    "Whoever asks waits.",
    "That which waits ends.",
    "Whose turn it is waits.",
    "**Whether** it waits is open."
  ])("for a riddle: %s", (sentence) =>
    assert.deepStrictEqual(found(sentence), [
      `page.md:1: begins like a riddle; begin with who acts: ${sentence.replaceAll("*", "")}`
    ])
  )

  it.each(["What waits?", "Whatsoever.", "A turn says what it did.", "That is all.", "# What is sent"])(
    "and not for: %s",
    (text) => assert.deepStrictEqual(found(text), [])
  )
})
