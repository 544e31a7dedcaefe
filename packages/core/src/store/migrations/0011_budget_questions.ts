/** The resource whose budget an interaction asks to raise. */
export const budgetQuestions: ReadonlyArray<string> = ["alter table interactions add column budget_of text"]
