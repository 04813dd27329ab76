import type { Question, QuestionAsk } from '../../ask.ts'
import { ReplyError } from '../../error.ts'

/**
 * An answer. For a question, one list of answers per question: labels, option numbers from 1, or free text. For a
 * permission, `once` or `always`. For example `[['Yes']]` or `[['1', '3']]`.
 */
export type Answer = readonly (readonly string[])[] | 'once' | 'always'

/**
 * Converts answers to the server's format, with numbers replaced by labels. Throws `invalid`, with the problem and the
 * valid answers, unless there is one valid list for each question.
 */
export function checkAnswers(ask: QuestionAsk, input: Answer): string[][] {
  const { questions } = ask
  if (typeof input === 'string' || input.length !== questions.length) {
    const count = typeof input === 'string' ? JSON.stringify(input) : `${input.length} lists`
    throw new ReplyError(
      'invalid',
      `Expected ${questions.length} lists of answers, one for each question. Got ${count}.`,
    )
  }
  return questions.map((question, index) => checkAnswer(question, input[index] ?? []))
}

/**
 * Returns one question's answers as labels and free texts, each once, with numbers replaced by labels. Throws `invalid`
 * if there is none, if one is blank, and if the question doesn't allow several or free text.
 */
function checkAnswer(question: Question, chosen: readonly string[]): string[] {
  const labels = question.options.map((option) => option.label)
  const choices = labels.map((label) => JSON.stringify(label)).join(', ')
  const title = JSON.stringify(question.header || question.question)
  if (chosen.length === 0 || chosen.some((answer) => answer.trim() === '')) {
    throw new ReplyError(
      'invalid',
      `The answer to ${title} is empty. Give ${choices === '' ? 'some text' : `one of ${choices}`}.`,
    )
  }
  const answers = [...new Set(chosen.map((answer) => labelOf(answer, question, labels)))]
  if (answers.length > 1 && !question.multiple) {
    throw new ReplyError(
      'invalid',
      `${title} takes one answer, not ${answers.length}: ${answers.map((answer) => JSON.stringify(answer)).join(', ')}.`,
    )
  }
  const unknownAnswer = question.custom ? undefined : answers.find((answer) => !labels.includes(answer))
  if (unknownAnswer !== undefined) {
    const numbers = labels.length === 0 ? '' : `, or a number from 1 to ${labels.length}`
    throw new ReplyError(
      'invalid',
      `${JSON.stringify(unknownAnswer)} is not an option of ${title}. Give one of ${choices}${numbers}.`,
    )
  }
  return answers
}

/**
 * Returns the label of an option's number, unless a label is that number. If the question takes free text, a number in
 * quotes loses them and stays a number. Returns any other answer as it is.
 */
function labelOf(answer: string, { custom }: Question, labels: readonly string[]): string {
  if (labels.includes(answer)) return answer
  const quoted = custom ? /^"(\d+)"$/.exec(answer)?.[1] : undefined
  if (quoted !== undefined) return quoted
  return /^\d+$/.test(answer) ? (labels[Number(answer) - 1] ?? answer) : answer
}
