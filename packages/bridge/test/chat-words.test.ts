import { ReplyError } from '@reply/core'
import { expect, test } from 'vitest'
import { chatWordsOf } from '../src/error.ts'
import { StoreError } from '../src/store/store.ts'
import { words } from '../src/words.ts'

test.each([
  ['unreachable', words.unreachable],
  ['closed', words.unreachable],
  ['not-stopped', words.unconfirmed],
  ['unauthorized', words.shutOut],
  ['not-opencode', words.shutOut],
] as const)('a failure that is %s shows a chat neither addresses nor what an operator should do', (type, said) => {
  expect(chatWordsOf(new ReplyError(type, 'No OpenCode server at http://10.0.0.5: start one.'), words)).toBe(said)
})

test.each(['busy', 'failed', 'newer', 'closed'] as const)('a state that is %s shows a chat no path', (type) => {
  const error = new StoreError(type, 'The state /srv/bridge.db cannot grow: the disk is full. Make room on it.')
  expect(chatWordsOf(error, words)).toBe(words.stateFails)
})

test('other failures are told in their own words', () => {
  expect(chatWordsOf(new ReplyError('gone', 'There is no session ses_1.'), words)).toBe('There is no session ses_1.')
  expect(chatWordsOf('late', words)).toBe('late')
})
