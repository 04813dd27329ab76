import type { QuestionAsk } from '@reply/core'
import { describe, expect, test } from 'vitest'
import { checkAnswers } from '../src/drive/asks/check-answers.ts'

function asking(more: Partial<QuestionAsk['questions'][number]> = {}, labels = ['Red', 'Blue']): QuestionAsk {
  const options = labels.map((label) => ({ label, description: '' }))
  const question = { header: 'Colour', question: 'Which?', options, multiple: false, custom: false, ...more }
  const place = {
    requestID: 'q',
    sessionID: 's',
    directory: undefined,
    path: ['s'],
    status: 'pending',
    askedAt: 1,
  } as const
  return { ...place, type: 'question', questions: [question] }
}
const custom = { custom: true }
const multiple = { multiple: true }

describe('an answer', () => {
  test.each([
    ['that is a label', asking(), ['Blue'], ['Blue']],
    ["that is an option's number is its label", asking(), ['2'], ['Blue']],
    ['the same where free text is taken', asking(custom), ['2'], ['Blue']],
    ['of several numbers and labels', asking(multiple), ['2', 'Red'], ['Blue', 'Red']],
    ['that names an option twice, once', asking(multiple), ['2', 'Blue'], ['Blue']],
    ['that is a label and a number is the label', asking({}, ['2', '1']), ['2'], ['2']],
    ['beyond the options is free text', asking(custom), ['3'], ['3']],
    ['of 0 is free text', asking(custom), ['0'], ['0']],
    ['in numbers without options is free text', asking(custom, []), ['1'], ['1']],
    ['in quotes is the number itself', asking(custom), ['"2"'], ['2']],
    ['in words is free text', asking(custom), ['2 of them'], ['2 of them']],
  ])('%s', (_, ask, given, answers) => {
    expect(checkAnswers(ask, [given])).toEqual([answers])
  })

  test.each([
    [
      'a number beyond the options',
      asking(),
      ['3'],
      '"3" is not an option of "Colour". Give one of "Red", "Blue", or a number from 1 to 2.',
    ],
    [
      'other words',
      asking(),
      ['Green'],
      '"Green" is not an option of "Colour". Give one of "Red", "Blue", or a number from 1 to 2.',
    ],
    ['two where one is asked for', asking(), ['1', '2'], '"Colour" takes one answer, not 2: "Red", "Blue".'],
    ['nothing', asking(), [' '], 'The answer to "Colour" is empty. Give one of "Red", "Blue".'],
  ])('of %s is invalid, and the error says what would fit', (_, ask, given, message) => {
    expect(() => checkAnswers(ask, [given])).toThrow(expect.objectContaining({ type: 'invalid', message }))
  })
})
