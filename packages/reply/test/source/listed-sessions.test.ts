import { createHandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import { toAddress } from '../../src/source/http/address.ts'
import { createOpenCode2 } from '../../src/source/opencode2/source.ts'

const second = Date.UTC(2026, 0, 1, 12, 0, 30)

test('a session of OpenCode 2 that ran has the time of the list that first shows it, never a later one', async () => {
  let used = 120
  const source = createOpenCode2({
    address: toAddress({ url: 'http://recorded' }),
    // As a server of build 0.0.0-next-16350 answers. Only its title changes `updated`.
    fetch: async () => {
      const session = { id: 'ses_1', tokens: { input: used }, cost: 0, time: { created: 1000, updated: 2000 } }
      const headers = { date: new Date(second).toUTCString() }
      return Response.json({ data: [{ ...session, location: { directory: '/project' } }] }, { headers })
    },
    clock: createHandClock(),
    deadlineMs: 60_000,
    maxAnswerBytes: 1_000_000,
    onError: (error) => {
      throw error
    },
  })
  const listed = async (since?: number) => (await source.sessions({ since })).map(({ updatedAt }) => updatedAt)
  expect([await listed(), await listed(3000)]).toEqual([[2000], []])
  used = 240
  expect([await listed(3000), await listed(second)]).toEqual([[second], [second]])
  expect([await listed(second + 1), await source.newestTime(undefined)]).toEqual([[], second])
  source.close()
})
