import { emptyReply, type PermissionAsk, type Reply, reduce } from '@reply/core'
import { expect, test } from 'vitest'
import { withEarlierAsks } from '../src/runs/followed-execution.ts'
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
