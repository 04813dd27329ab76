import { openCode2Version } from '@reply/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Client, type Reply, type ReplyStream, textOf } from '../../src/index.ts'
import { openStage, type Stage } from './server.ts'

describe.each([['1.18.33'], [openCode2Version]])('clients of %s that follow their own sessions', (version) => {
  let stage: Stage
  let first: Client
  let second: Client
  beforeAll(async () => {
    stage = await openStage({ version })
    first = stage.open({ follow: 'own' })
    second = stage.open({ follow: 'own' })
    await Promise.all([first.ready, second.ready])
  })
  afterAll(async () => await stage.close())

  const sessionOf = async (stream: ReplyStream, text: string): Promise<string> => {
    for await (const _ of stream) if (stream.reply && textOf(stream.reply).startsWith(text)) break
    return stream.reply?.sessionID ?? expect.fail()
  }

  test('see nothing of each other, until one is told to take over', async () => {
    const seen: Reply[] = []
    second.on('replyStarted', ({ reply }) => void seen.push(reply))
    const stream = first.prompt({ text: '[scenario:watched]' })
    const sessionID = await sessionOf(stream, 'One')
    expect(seen).toEqual([])
    const taken = new Promise<Reply>((resolve) => {
      const replySettled = ({ reply }: { readonly reply: Reply }): void => resolve(reply)
      const replyStarted = (): void => stage.model.release('watched')
      second.watch({ sessionID }, { observe: () => [{ replyStarted, replySettled }] })
    })
    const [own, other] = await Promise.all([stream.result, taken])
    expect([textOf(own), textOf(other)]).toEqual(['One two.', 'One two.'])
    expect(seen.map((reply) => reply.sessionID)).toEqual([sessionID])
  })

  test('prompt one session in turn', async () => {
    const before = await first.prompt({ text: '[scenario:plain]' }).result
    const { sessionID } = before
    for (const client of [second, first, second]) {
      const reply = await client.prompt({ sessionID, text: '[scenario:plain]' }).result
      expect([reply.outcome, textOf(reply)]).toEqual(['completed', 'Hello there.'])
    }
  })

  test('prompt a session in which the other has a run', async () => {
    const stream = first.prompt({ text: '[scenario:gap]' })
    const sessionID = await sessionOf(stream, 'One')
    const onPosting = (): void => stage.model.release('gap')
    const joining = second.prompt({ sessionID, text: '[scenario:plain]' }, { onPosting })
    const [own, other] = await Promise.all([stream.result, joining.result])
    // Whether it joins the run depends on which is faster, its end or the post.
    const expected = joining.joined ? textOf(own) : 'Hello there.'
    expect([own.outcome, other.outcome, textOf(other)]).toEqual(['completed', 'completed', expected])
  })

  test('see the ask of a sub-agent of a session that they took over', async () => {
    const stream = first.prompt({ text: '[scenario:child]' })
    for await (const _ of stream.filter(['permissionAsked'])) break
    const { sessionID } = stream.reply ?? expect.fail()
    const reply = await new Promise<Reply>((resolve) => {
      second.watch(
        { sessionID },
        {
          observe: () => [
            {
              permissionAsked: ({ ask }) => void second.answer(ask, 'once'),
              replySettled: (settled) => resolve(settled.reply),
            },
          ],
        },
      )
    })
    expect([reply.outcome, reply.children[0]?.reply.outcome]).toEqual(['completed', 'completed'])
    expect(textOf(reply)).toBe(textOf(await stream.result))
  })

  test('nothing went wrong on the way', () => {
    expect(stage.errors.map((error) => error.message)).toEqual([])
  })
})
