import { describe, expect, test } from 'vitest'
import { readPermissionAnswer, readQuestionAnswer } from '../../src/ask/answer.ts'

describe('an answer to a permission', () => {
  test.each([
    ['1', { type: 'answer', answer: 'once' }],
    [' 1. ', { type: 'answer', answer: 'once' }],
    ['Yes', { type: 'answer', answer: 'once' }],
    ['2', { type: 'answer', answer: 'always' }],
    ['ALWAYS', { type: 'answer', answer: 'always' }],
    ['3', { type: 'reject' }],
    ['#3', { type: 'reject' }],
    ['no', { type: 'reject' }],
    ['3: use yarn', { type: 'reject', message: 'use yarn' }],
    ['No, use\nyarn', { type: 'reject', message: 'use\nyarn' }],
    ['nope', { type: 'error', reason: 'unclear' }],
    ['yes, but check first', { type: 'error', reason: 'unclear' }],
    ['4', { type: 'error', reason: 'unclear' }],
    ['', { type: 'error', reason: 'unclear' }],
  ] as const)('%j', (typed, read) => {
    expect(readPermissionAnswer(typed, { canAlways: true })).toEqual(read)
  })

  test('has fixed numbers: 2 is an error if "always" is not offered', () => {
    const error = { type: 'error', reason: 'always-not-offered' }
    expect(readPermissionAnswer('2', { canAlways: false })).toEqual(error)
    expect(readPermissionAnswer('always', { canAlways: false })).toEqual(error)
    expect(readPermissionAnswer('3', { canAlways: false })).toEqual({ type: 'reject' })
  })

  test("may use the host's labels", () => {
    const labels = { once: 'Einmal erlauben', always: 'Immer', reject: 'Ablehnen' }
    const read = (typed: string) => readPermissionAnswer(typed, { canAlways: true, labels })
    expect(read('einmal  erlauben')).toEqual({ type: 'answer', answer: 'once' })
    expect(read('immer')).toEqual({ type: 'answer', answer: 'always' })
    expect(read('Ablehnen, weil')).toEqual({ type: 'reject', message: 'weil' })
  })
})

const options = ['Postgres', 'SQLite', 'Redis, hosted'].map((label) => ({ label, description: '' }))
const labels = options.map(({ label }) => label)
const one = { header: '', question: '?', options, multiple: false, custom: false }
const several = { ...one, multiple: true }
const own = { ...one, custom: true }

describe('an answer to a question', () => {
  test.each([
    ['a number', one, '2', ['SQLite']],
    ['a number in another way', one, ' #3. ', ['Redis, hosted']],
    ['a label in any case', one, ' sqlite ', ['SQLite']],
    ['the beginning of one label', one, 'post', ['Postgres']],
    ['a label with a comma', one, 'redis, hosted', ['Redis, hosted']],
    ['own words', own, 'MySQL', ['MySQL']],
    ['own words with commas and numbers', own, 'MySQL, version 8', ['MySQL, version 8']],
    ['a version as own words', own, 'v7', ['v7']],
    ['a time as own words', own, '16:30', ['16:30']],
    ['a number in quotes', own, '"7"', ['7']],
    ["an option's number in quotes, with its quotes", own, '"2"', ['"2"']],
    ['an option in quotes', one, '"SQLite"', ['SQLite']],
    ['own words that begin like a label', own, 'post', ['post']],
    ['anything where there are no options', { ...one, options: [] }, '42', ['42']],
    ['several numbers', several, '1,3', ['Postgres', 'Redis, hosted']],
    ['several numbers with spaces, each once', several, '1 2 1', ['Postgres', 'SQLite']],
    ['numbers and labels', several, '1, sqlite', ['Postgres', 'SQLite']],
    ['numbers and the word "and"', several, '1, 2 and 3', ['Postgres', 'SQLite', 'Redis, hosted']],
    ['numbers with an ampersand', several, '1 & 3', ['Postgres', 'Redis, hosted']],
    ['a range', several, '2-3', ['SQLite', 'Redis, hosted']],
    ['a range in words, and a number again', several, '1 to 2, #2.', ['Postgres', 'SQLite']],
    ['a range with a dash and spaces', { ...several, custom: true }, '1 – 3', labels],
    ['all', several, 'All', labels],
    ['all where own words may be given', { ...several, custom: true }, 'all', labels],
    ['labels and the word "and"', several, 'postgres and sqlite', ['Postgres', 'SQLite']],
    ['labels, the last after a comma and the word "and"', several, 'postgres, and 2', ['Postgres', 'SQLite']],
    ['"all" of a question with one answer, in own words', own, 'all', ['all']],
    ['a label with a comma among several', several, 'Redis, hosted', ['Redis, hosted']],
    ['an option and own words', { ...several, custom: true }, '2, MySQL', ['SQLite', 'MySQL']],
    ['own words with commas among several', { ...several, custom: true }, 'cheap, but quick', ['cheap, but quick']],
    ['own words that end in a number', { ...several, custom: true }, 'Please use 2', ['Please use 2']],
  ])('may be %s', (_, question, typed, answers) => {
    expect(readQuestionAnswer(typed, question)).toEqual({ type: 'answer', answers })
  })

  test.each([
    ['nothing', own, '  ', 'empty', ''],
    ['a number that is not there', one, '7', 'not-an-option', '7'],
    ['other words', one, 'MySQL', 'not-an-option', 'MySQL'],
    ['one wrong of several', several, '1,9', 'not-an-option', '9'],
    ['one wrong of several, own words or not', { ...several, custom: true }, '1,9', 'not-an-option', '9'],
    ['a number that no option has, own words or not', own, '7', 'not-an-option', '7'],
    ['zero', own, '0', 'not-an-option', '0'],
    ['a wrong number after own words', { ...several, custom: true }, '1, MySQL, 9', 'not-an-option', '9'],
    ['a range that ends too late', several, '2-12', 'not-an-option', '2-12'],
    ['a range backwards', { ...several, custom: true }, '3-1', 'not-an-option', '3-1'],
    ['an endless range', several, '1-99999999999', 'not-an-option', '1-99999999999'],
    ['a range where one is asked for', own, '1-2', 'one-only', '1-2'],
    ['numbers with "and" where one is asked for', own, '1 and 2', 'one-only', '1 and 2'],
    ['commas alone', several, ',', 'empty', ','],
    ['two where one is asked for', one, '1, 2', 'one-only', '1, 2'],
    ['two where one is asked for, own words or not', own, '1 2', 'one-only', '1 2'],
  ] as const)('is not %s', (_, question, typed, reason, given) => {
    expect(readQuestionAnswer(typed, question)).toEqual({ type: 'error', reason, piece: given })
  })

  test('is the label when a label looks like a number', () => {
    const numbers = { ...one, options: ['2', '4'].map((label) => ({ label, description: '' })) }
    expect(readQuestionAnswer('2', numbers)).toEqual({ type: 'answer', answers: ['2'] })
  })
})
