import { createRecordedServer } from '@reply/testing'
import { describe, expect, test } from 'vitest'
import { connect, type Reply, replay, textOf, toolsOf } from '../../src/index.ts'
import { recorded } from '../recorded.ts'

/** The first version that shows it, and why earlier ones don't. */
export interface Limit {
  readonly until: string
  readonly reason: string
}

/** What a read can't show, by scenario. */
export const unread: Readonly<Record<string, Limit>> = {
  'abort-child': { until: '1.14', reason: 'Servers before 1.14 store no text that was broken off.' },
  'abort-text': { until: '1.14', reason: 'Servers before 1.14 store no text that was broken off.' },
  disposed: { until: '1.17', reason: 'Servers before 1.17 store no text that the end of an instance broke off.' },
  'no-reply': {
    until: 'never',
    reason: 'A note starts nothing, and cannot be told from a prompt that failed at once.',
  },
  'unknown-model': { until: 'never', reason: 'The server does not store the failure of a run before its first step.' },
  killed: { until: 'never', reason: 'A server that is killed stores nothing any more.' },
  'part-removed': {
    until: 'never',
    reason: 'Without the deleted answer, its prompt seems to have joined the next run.',
  },
}

/** How a run was ended from outside is not stored everywhere: what was not seen to end is lost. */
function outcomeOf({ outcome }: Reply): string | undefined {
  return outcome === 'aborted' || outcome === 'timed-out' ? 'lost' : outcome
}

function isShown({ scenario, version, name }: (typeof recorded)[number]): boolean {
  const limit = unread[scenario]
  if (name.endsWith('global')) return false
  return limit === undefined || (limit.until !== 'never' && !isBefore(version, limit.until))
}

function isBefore(version: string, limit: string): boolean {
  const [[, minor = 0], [, wanted = 0]] = [version.split('.').map(Number), limit.split('.').map(Number)]
  return minor < wanted
}

/** What a read at the end must show as the events did. Without the events, an ended run's asks are unknown. */
function picture(reply: Reply | undefined) {
  if (!reply) return undefined
  return {
    prompts: reply.promptIDs,
    text: textOf(reply),
    tools: toolsOf(reply).map(({ tool, state }) => [tool, state.status]),
    messages: reply.messages.map(({ id, finish, error }) => [id, finish, error?.name]),
    steps: reply.usage.steps,
    outcome: outcomeOf(reply),
    children: reply.children.map((child) => [child.reply.sessionID, textOf(child.reply), child.reply.phase]),
  }
}

/** Reads what the recorded servers of these versions hold at the end, and compares it with the replay. */
export function testNewestRuns(versions: readonly string[]): void {
  const wanted = recorded.filter((recording) => versions.includes(recording.version) && isShown(recording))
  describe('the newest run of a session, read when all is over', () => {
    test.each(wanted)('is the last reply of $name', async ({ read, version }) => {
      const { bytes, sessions } = read()
      const server = createRecordedServer({ bytes, version })
      server.publish(server.length)
      const opencode = connect({ url: 'http://recorded', fetch: server.fetch })
      await opencode.ready
      const replies = await replay([bytes])
      for (const { id } of sessions.filter(({ info }) => info.parentID === undefined)) {
        const last = replies.findLast((reply) => reply.sessionID === id)
        expect(picture(await opencode.reply(id))).toEqual(picture(last))
      }
      await opencode.close()
    })
  })
}
