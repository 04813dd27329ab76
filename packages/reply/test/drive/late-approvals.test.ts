import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { connect } from '../../src/index.ts'
import { type Faulty, openFaulty } from './faulty.ts'
import { allowAfterStop } from './late-approvals.ts'
import { eventually } from './patience.ts'
import { pendingAt } from './scenes.ts'

const opened: Faulty[] = []
afterAll(async () => {
  for (const faulty of opened) await faulty.close()
})

async function open(version: string): Promise<Faulty> {
  const faulty = await openFaulty(version)
  opened.push(faulty)
  return faulty
}

test.each(['1.2.27', '1.18.33'])(
  'on %s, of 3 commands that are allowed within 50 ms after Stop none runs',
  async (version) => expect(await allowAfterStop(await open(version), 3)).toEqual([]),
)

test('a run that another program started is stopped by its session id alone', async () => {
  const faulty = opened.at(-1) ?? (await open('1.18.33'))
  const { url, directory } = faulty.server
  const before = connect({ url, directory })
  const stream = before.prompt({ text: '[scenario:lateChild]' })
  await pendingAt(faulty, '/permission', 1)
  const sessionID = await eventually(60_000, async () => stream.reply?.sessionID)
  const after = connect({ url, directory })
  await after.abort(sessionID)
  expect(await pendingAt(faulty, '/permission', 0)).toEqual([])
  // Rejecting the sub-agent's permission may let the run come to its own end before the abort reaches it.
  expect(['aborted', 'stopped', 'completed']).toContain((await stream.result).outcome)
  expect(existsSync(join(directory, 'late.txt'))).toBe(false)
  await expect(after.abort('ses_none')).rejects.toMatchObject({ type: 'gone' })
  await before.close()
  await after.close()
})
