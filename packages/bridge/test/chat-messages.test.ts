import { ReplyError } from '@reply/core'
import { expect, test } from 'vitest'
import { StoreError } from '../src/store/store.ts'
import { chatMessageOf, texts } from '../src/texts.ts'

test.each([
  ['unreachable', texts.unreachable],
  ['closed', texts.unreachable],
  ['not-stopped', texts.unconfirmed],
  ['unauthorized', texts.shutOut],
  ['not-opencode', texts.shutOut],
] as const)('a failure that is %s shows a chat neither addresses nor what an operator should do', (type, said) => {
  expect(chatMessageOf(new ReplyError(type, 'No OpenCode server at http://10.0.0.5: start one.'))).toBe(said)
})

test.each(['busy', 'failed', 'newer', 'closed'] as const)('a state that is %s shows a chat no path', (type) => {
  const error = new StoreError(type, 'The state /srv/bridge.db cannot grow: the disk is full. Make room on it.')
  expect(chatMessageOf(error)).toBe(texts.stateFails)
})

test('other failures are told in their own words', () => {
  expect(chatMessageOf(new ReplyError('gone', 'There is no session ses_1.'))).toBe('There is no session ses_1.')
  expect(chatMessageOf('late')).toBe('late')
})
