import type { Reply } from '@reply/core'
import { connectSource } from '@reply/core/source'
import { expect, test } from 'vitest'
import type { SendingAgent } from './send-file/agents.ts'

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const rows = { url: 'data:text/csv,sales%20of%20the%20year', mime: 'text/csv', filename: 'rows.csv' }
const photo = { url: `data:image/png;base64,${png}`, mime: 'image/png', filename: 'photo.png' }
const report = { url: 'data:application/pdf,%25PDF-1.7', mime: 'application/pdf', filename: 'report.pdf' }

/** Sends files to real agents. */
export function testFilesIn(agents: readonly SendingAgent[]): void {
  test.each(agents)(
    '$recording: the model gets the files that the agent takes, and no run begins with others',
    async (agent) => {
      let takes: readonly string[] = []
      const replies: Reply[] = []
      const { sent } = await agent.play(async (source, _, mode) => {
        const client = connectSource(source)
        takes = (await client.takes()) ?? []
        const files = [rows, ...(takes.includes('image') ? [photo] : [])]
        const first = await client.prompt({ text: 'Look. [scenario:look]', agent: mode, files }).result
        const { sessionID } = first
        replies.push(first, await client.prompt({ text: 'Look. [scenario:look]', sessionID, files: [report] }).result)
        await client.close()
        return first
      })
      expect(takes).toEqual(expect.arrayContaining(['text', 'image']))
      expect(replies[0]?.outcome).toBe('completed')
      expect(sent).toContain('sales of the year')
      expect(sent).toContain(png)
      const isRefused = replies[1]?.error?.name === 'unsupported'
      expect([takes.includes('pdf'), replies[1]?.outcome]).toEqual(isRefused ? [false, 'failed'] : [true, 'completed'])
      // OpenCode, and Kilo with it, tells the model if that reads no PDFs.
      if (!isRefused) expect(sent).toMatch(/JVBERi0xLjc|%PDF-1\.7|Cannot read .{1,4}report\.pdf/)
    },
  )
}
