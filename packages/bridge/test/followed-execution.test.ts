import { emptyReply, type PermissionAsk, type Reply, reduce } from '@reply/core'
import { expect, test } from 'vitest'
import { followedExecution, withEarlierAsks } from '../src/runs/followed-execution.ts'
import { isUnprompted } from '../src/runs/unprompted-runs.ts'

const sessionID = 'ses_1'
const opened = reduce(emptyReply(sessionID), { type: 'opened', sessionID, at: 1 }).reply
const asked: PermissionAsk = {
  ...{ type: 'permission', requestID: 'per_1', sessionID, directory: '/shop', path: [sessionID], status: 'pending' },
  ...{ permission: 'bash', patterns: ['npm test'], always: [], title: 'npm test', metadata: {} },
}

/** What a process has of an ask that was answered before it could see it. */
function answeredUnseen(): Reply {
  const how = { type: 'permission', reply: 'once' } as const
  return reduce(opened, { type: 'ask-closed', at: 2, raw: undefined, sessionID, requestID: 'per_1', how }).reply
}

test('a run is said to be from the terminal if it has a prompt that no chat wrote', () => {
  const place = { channel: 'tg', chat: { id: '1' } }
  const desk: Reply = { ...opened, directory: '/srv/shop', prompt: { text: 'Go', files: [], parts: [] } }
  const originOf = (reply: Reply, author?: string) =>
    followedExecution('home', reply, { place, follows: 'asks', author }, 1).origin
  expect(originOf(desk)).toBe('From the terminal, shop')
  expect(originOf({ ...desk, directory: undefined })).toBe('From the terminal, home')
  expect(originOf(desk, 'Ann\nB')).toBe('From Ann B in another chat, shop')
  expect(originOf({ ...desk, prompt: undefined })).toBe('In shop')
})

test('the end of an ask that was not seen does not tell that no prompt began its run', () => {
  expect(isUnprompted(answeredUnseen())).toBeUndefined()
  expect(isUnprompted({ ...opened, asks: [asked] })).toBe(true)
})

test('an ask that was only seen to end keeps what it asked, as an earlier process knew it', () => {
  const { asks } = withEarlierAsks(answeredUnseen(), [asked], 3)
  expect(asks).toEqual([{ ...asked, status: 'answered', closedAt: 2, reply: 'once' }])
})

test('an ask that the reply lacks is withdrawn, and a reply that lacks none is the same', () => {
  expect(withEarlierAsks(opened, [asked], 3).asks).toEqual([{ ...asked, status: 'withdrawn', closedAt: 3 }])
  const seen = { ...opened, asks: [asked] }
  expect(withEarlierAsks(seen, [asked], 3)).toBe(seen)
})
