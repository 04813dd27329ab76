import { filesOf, type Reply, toolsOf } from '@reply/core'
import { expect } from 'vitest'
import type { SendingAgent } from './agents.ts'

/** What a reply has of the two files that were sent, and how the call for a third one failed. */
export function outlineOf(reply: Reply) {
  const [, , refused] = toolsOf(reply)
  return {
    outcome: reply.outcome,
    files: filesOf(reply).map(({ id: _, ...file }) => file),
    refused: refused?.state.output ?? refused?.state.error,
  }
}

/** The outline with the files at these addresses. */
export const expectedOf = ([picture = '', table = '']: readonly string[], { hidesCaption }: SendingAgent) => ({
  outcome: 'completed',
  files: [
    { mime: 'image/png', url: picture, filename: 'sales 2026.png', caption: hidesCaption ? undefined : 'Sales' },
    { mime: 'text/csv', url: table, filename: 'rows.csv' },
  ],
  // Some agents add words of their own.
  refused: expect.stringContaining('Give a path inside of the project.'),
})
