import { openCode2Version } from '@reply/testing'
import { expect, test } from 'vitest'
import { writeResult } from '../drive/matrix/results.ts'
import { openStage } from '../drive/server.ts'
import { allowAfterStop } from './second-approvals.ts'

test(`on ${openCode2Version}, of 100 commands that are allowed within 50 ms after Stop none runs`, {
  timeout: 1_800_000,
}, async () => {
  const stage = await openStage({ version: openCode2Version })
  try {
    const failures = await allowAfterStop(stage, 100)
    writeResult('nightly-approvals-second', { runs: 100, failed: failures.length })
    expect(failures).toEqual([])
  } finally {
    await stage.close()
  }
})
