import { createRecordedServer, openCode2Version, readRecording } from '@reply/testing'
import { describe, expect, test } from 'vitest'
import { type Reply, textOf } from '../../src/index.ts'
import { setStage, watchAll } from './stage.ts'

const scenario = 'rejected-then-prompt'

/** Words of each run, and how it ended. */
const shown = (replies: readonly Reply[]) =>
  replies.map((reply) => [textOf(reply), reply.outcome, reply.promptIDs.length] as const)

const rejected = ['I will run it.', 'stopped', 1] as const
const second = 'Something else, then.'

describe.each(['1.1.65', '1.2.27', '1.18.33', openCode2Version])('after a rejected run, on %s', (version) => {
  const { bytes } = readRecording({ version, scenario })
  const { types } = createRecordedServer({ bytes, version })
  const isOver = version === openCode2Version ? 'session.execution.' : 'session.idle'
  const idleAt = types.findIndex((type, at) => type.startsWith(isOver) && at > types.findIndex(isReplied))
  const secondEndsAt = types.findLastIndex((type) => type.startsWith(isOver))

  function isReplied(type: string): boolean {
    return type.startsWith('permission') && type.endsWith('replied')
  }

  test('a client that connects during the next run shows only that', async () => {
    const stage = setStage({ scenario, version, before: secondEndsAt - 3 })
    const replies = watchAll(stage.opencode)
    await stage.rest()
    stage.server.publish(types.length)
    await stage.advance(5000)
    expect(shown(replies)).toEqual([[second, 'completed', 1]])
    await stage.opencode.close()
  })

  test('the next prompt has its own reply if the end of the rejected run was missed', async () => {
    const stage = setStage({ scenario, version })
    const replies = watchAll(stage.opencode)
    await stage.rest()
    // The status idle comes right before it.
    stage.server.publish(idleAt - 1)
    await stage.rest()
    stage.server.stall()
    stage.server.publish(secondEndsAt - 3 - stage.server.published)
    stage.server.cut('error')
    await stage.advance(5000)
    stage.server.publish(types.length)
    await stage.advance(5000)
    expect(shown(replies)).toEqual([rejected, [second, 'completed', 1]])
    await stage.opencode.close()
  })
})
