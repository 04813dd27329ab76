import { expect, test } from 'vitest'
import { openFaulty } from './faulty.ts'
import { allowAfterStop } from './late-approvals.ts'

test.each(['1.2.27', '1.14.41', '1.18.33'])(
  'on %s, of 10 commands that are allowed within 50 ms after Stop none runs',
  async (version) => {
    const opened = await openFaulty(version)
    try {
      expect(await allowAfterStop(opened, 10)).toEqual([])
    } finally {
      await opened.close()
    }
  },
)
