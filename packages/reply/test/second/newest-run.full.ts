import { createRecordedServer, openCode2Version } from '@reply/testing'
import { expect, test } from 'vitest'
import { connect, type Reply, replay, textOf, toolsOf } from '../../src/index.ts'
import { fieldsOf, readTape, secondRecordings } from './recorded.ts'

const joined = 'Over REST, prompts that one execution served look like runs of their own.'

/** What a read can't show, with the reason. */
const unread: Readonly<Record<string, string>> = {
  queue: joined,
  'queue-and-steer': joined,
  'queue-tool': joined,
  'queue-twice': joined,
  parked: joined,
  'second-prompt': joined,
  killed: 'A server that is killed stores no text that was broken off.',
  stopped: 'The recording lacks what the server stored when it was stopped.',
  'revert-committed': 'The removed run is gone.',
  'revert-staged': 'The reverted run is hidden.',
  'unknown-model': 'The server does not store the failure of a run before its first step.',
}

/** What a read at the end must show as the events did. */
function picture(reply: Reply | undefined) {
  if (!reply) return undefined
  return {
    prompts: reply.promptIDs,
    text: textOf(reply),
    tools: toolsOf(reply).map(({ tool, state }) => [tool, state.status, state.output, state.error, state.interrupted]),
    messages: reply.messages.map(({ id, parentID, finish, error, cost }) => [id, parentID, finish, error?.name, cost]),
    // Only the stream tells of a summary's call.
    steps: reply.usage.steps - (reply.summaries?.length ?? 0),
    outcome: reply.outcome === 'aborted' ? 'lost' : reply.outcome,
    children: reply.children.map((child) => [child.reply.sessionID, textOf(child.reply), child.reply.phase]),
  }
}

const wanted = secondRecordings.map(({ scenario }) => scenario).filter((scenario) => !(scenario in unread))

test.each(wanted)('the newest run of %s, read when all is over, is the last reply', async (scenario) => {
  const { bytes, sessions } = readTape(scenario)
  const server = createRecordedServer({ bytes, version: openCode2Version })
  server.publish(server.length)
  const opencode = connect({ url: 'http://recorded', fetch: server.fetch })
  await opencode.ready
  const replies = await replay(bytes)
  for (const { id } of sessions.filter(({ info }) => fieldsOf(info).parentID === undefined)) {
    const last = replies.findLast((reply) => reply.sessionID === id)
    expect(picture(await opencode.reply(id))).toEqual(picture(last))
  }
  await opencode.close()
})
