import { alwaysOffer, readPermissionAnswer, readQuestionAnswer } from '@reply/core'
import { expect, test } from 'vitest'
import { answerError, firstAnswer, offerOf, permissionError } from '../src/asks/ask.ts'
import { permission, question } from './fixture/reply.ts'

const options = ['Postgres', 'SQLite', 'Redis, hosted'].map((label) => ({ label, description: '' }))
const one = { header: '', question: '?', options, multiple: false, custom: false }
const several = { ...one, multiple: true }

test.each([
  ['nothing', one, '  ', 'type 1 to 3'],
  ['a number that is not there', one, '7', 'there is no option 7: type 1 to 3'],
  ['other words', one, 'My\u202eSQL', '"My\\u202eSQL" is not one of the options: type 1 to 3'],
  ['several where one is wanted', one, '1, 2', 'pick one: type 1 to 3'],
  ['one wrong of several', several, '1,9', 'there is no option 9: type 1 to 3, separate several with commas'],
  [
    'a number that is not there, where own words count too',
    { ...one, custom: true },
    '7',
    'there is no option 7: type 1 to 3, or your own answer. If it is your own answer, quote it',
  ],
  ['commas alone', several, ',', 'type 1 to 3, separate several with commas'],
])('says what to type instead of %s', (_, asked, typed, error) => {
  const read = readQuestionAnswer(typed, asked)
  expect(read.type === 'error' && answerError(asked, read)).toBe(error)
})

const seen = permission()
const once = permission({ always: [] })
const shell = permission({ always: ['sh *'] })
const wide = permission({ always: ['*'] })
const unseen = permission({ call: undefined })

test.each([
  ['all three where all is known', seen, false, [1, 2, 3]],
  ['no "always" where it would cover nothing', once, false, [1, 3]],
  ['no "always" for a shell', shell, false, [1, 3]],
  ['no "always" without a limit', wide, false, [1, 3]],
  ['only a refusal while it is not known what would run', unseen, false, [3]],
  ['all three where that is allowed unseen', unseen, true, [1, 2, 3]],
] as const)('offers %s, with fixed numbers', (_, ask, allowUnseen, numbers) => {
  expect(offerOf(ask, { allowUnseen }).numbers).toEqual(numbers)
})

test.each([
  ['1', seen, undefined],
  ['2', seen, undefined],
  ['3 no', unseen, undefined],
  ['maybe', seen, 'type 1, 2 or 3. You can add a reason after the 3'],
  ['2', once, '"always" is not offered here: type 1 or 3. You can add a reason after the 3'],
  ['2', shell, '"always" is not offered, because sh can run anything: type 1 or 3. You can add a reason after the 3'],
  [
    'always',
    wide,
    '"always" is not offered, because it would allow every call of bash: type 1 or 3. You can add a reason after the 3',
  ],
  ['yes', unseen, 'what it would run is not known, so it cannot be allowed: type 3. You can add a reason after the 3'],
  ['2', unseen, 'what it would run is not known, so it cannot be allowed: type 3. You can add a reason after the 3'],
])('%s for a permission: what is wrong with it', (typed, ask, error) => {
  const read = readPermissionAnswer(typed, { canAlways: alwaysOffer(ask).type === 'offered' })
  expect(permissionError(read, offerOf(ask, { allowUnseen: false }), ask)).toBe(error)
})

test('without a person, the first option of each question is taken', () => {
  expect(firstAnswer(question())).toEqual({ type: 'answers', answers: [['Postgres']] })
  expect(firstAnswer(permission())).toEqual({ type: 'permission', reply: 'once' })
})
