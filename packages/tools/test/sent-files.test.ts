import { readFileSync } from 'node:fs'
import { filesOf, replay } from '@reply/core'
import { createRecordedServer } from '@reply/testing'
import { expect, test } from 'vitest'
import { sourceAt } from '../../reply/test/source/live-stage.ts'
import { expectedOf, outlineOf, versions } from './send-file-server.ts'

test.each(versions)(
  'OpenCode %s: files that the agent sends are attached to their calls, also over REST',
  async (version) => {
    const bytes = readFileSync(new URL(`../recordings/opencode-${version}.sse`, import.meta.url))
    const [reply = expect.fail('The recording has no reply.')] = await replay(bytes)
    expect(outlineOf(reply)).toEqual(expectedOf(version, 'file:///project'))
    const server = createRecordedServer({ bytes, version })
    server.publish(server.length)
    const place = { sessionID: reply.sessionID, directory: reply.directory }
    const source = sourceAt('http://recorded', server.fetch)
    const { messages } = await source.startReading().session(place, { messageIDs: [], since: 0 })
    const calls = messages.flatMap(({ parts }) => parts.flatMap((one) => (one.type === 'tool' ? [one.state] : [])))
    expect(calls.flatMap(({ attachments = [] }) => attachments)).toEqual(filesOf(reply))
  },
)
