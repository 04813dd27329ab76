import { expect, test } from 'vitest'
import { firstAnswer, parsePermission, parseQuestion } from '../src/ask.ts'
import { permission, question } from './fixture/reply.ts'

const options = ['Postgres', 'SQLite', 'Redis, hosted'].map((label) => ({ label, description: '' }))
const one = { header: '', question: '?', options, multiple: false, custom: false }
const several = { ...one, multiple: true }

test.each([
  ['a number', one, '2', ['SQLite']],
  ['a label in any case', one, ' sqlite ', ['SQLite']],
  ['the beginning of one label', one, 'post', ['Postgres']],
  ['a label with a comma', one, 'redis, hosted', ['Redis, hosted']],
  ['own words', { ...one, custom: true }, 'MySQL', ['MySQL']],
  ['a number in quotes', { ...one, custom: true }, '"7"', ['7']],
  ['a number in quotes that an option has, with its quotes', { ...one, custom: true }, '"2"', ['"2"']],
  ['own words that begin like a label', { ...one, custom: true }, 'post', ['post']],
  ['anything where there are no options', { ...one, options: [], custom: true }, '42', ['42']],
  ['several numbers', several, '1,3', ['Postgres', 'Redis, hosted']],
  ['several numbers with spaces', several, '1 2 1', ['Postgres', 'SQLite']],
  ['numbers and labels', several, '1, sqlite', ['Postgres', 'SQLite']],
  ['a label with a comma among several', several, 'Redis, hosted', ['Redis, hosted']],
  ['an option and own words', { ...several, custom: true }, '2, MySQL', ['SQLite', 'MySQL']],
  ['own words with commas', { ...several, custom: true }, 'cheap, but quick', ['cheap, but quick']],
])('takes %s', (_, asked, typed, answer) => {
  expect(parseQuestion(asked, typed)).toEqual({ answer })
})

test.each([
  ['nothing', one, '  ', 'type 1 to 3'],
  ['a number that is not there', one, '7', 'there is no option 7: type 1 to 3'],
  ['other words', one, 'MySQL', '"MySQL" is none of the options: type 1 to 3'],
  ['one wrong of several', several, '1,9', 'there is no option 9: type 1 to 3, several with commas'],
  ['commas alone', several, ',', 'type 1 to 3, several with commas'],
])('refuses %s and says what to type', (_, asked, typed, error) => {
  expect(parseQuestion(asked, typed)).toEqual({ error })
})

test('a label that is a number wins over the position', () => {
  const numbers = { ...one, options: ['2', '4'].map((label) => ({ label, description: '' })) }
  expect(parseQuestion(numbers, '2')).toEqual({ answer: ['2'] })
})

test.each([
  ['1', { type: 'permission', reply: 'once' }],
  ['Yes', { type: 'permission', reply: 'once' }],
  ['always', { type: 'permission', reply: 'always' }],
  ['3', { type: 'reject' }],
  ['no, use yarn', { type: 'reject', message: 'use yarn' }],
  ['3 use yarn', { type: 'reject', message: 'use yarn' }],
])('permission: %s', (typed, answer) => {
  expect(parsePermission(typed)).toEqual({ answer })
})

test('a permission takes nothing else: "nope" is no refusal and no consent', () => {
  expect(parsePermission('nope')).toEqual({ error: 'type 1, 2 or 3; a reason may follow the 3' })
  expect(parsePermission('')).toHaveProperty('error')
})

test('without a person the first option of each question is taken', () => {
  expect(firstAnswer(question())).toEqual({ type: 'answers', answers: [['Postgres']] })
  expect(firstAnswer(permission())).toEqual({ type: 'permission', reply: 'once' })
})
