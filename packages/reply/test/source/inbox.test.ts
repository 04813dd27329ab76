import { ReplyError } from '@reply/core'
import { describe, expect, test } from 'vitest'
import { createInbox } from '../../src/source/opencode2/inbox.ts'
import type { Rest } from '../../src/source/opencode2/rest.ts'

/** A session with one prompt that waits. `route` is what the build calls the inbox; `taken` what `DELETE` does. */
function setInbox(route: 'inbox' | 'pending', taken: () => void = () => {}) {
  const deleted: string[] = []
  let stored: unknown
  const gone = (path: string) => new ReplyError('gone', `${path} is not there`)
  const rest: Rest = {
    get: async (path) => {
      if (path === `/session/ses_1/${route}`)
        return { data: [{ id: 'msg_1', type: 'user', data: { text: 'Later.' }, payload: { text: 'Later.' } }] }
      if (path === '/session/ses_1/message/msg_1' && stored !== undefined) return stored
      throw gone(path)
    },
    // An unknown route of some builds answers like a known one.
    delete: async (path) => {
      deleted.push(path)
      taken()
    },
    events: async () => [],
    post: async (path) => {
      throw gone(path)
    },
    newestTime: () => undefined,
    close: () => {},
  }
  const store = (): void => {
    stored = { data: { id: 'msg_1' } }
  }
  return { inbox: createInbox(rest), deleted, store }
}

describe('a prompt that waits', () => {
  test('stays on a preview build, which is not even asked to take it back', async () => {
    const { inbox, deleted } = setInbox('pending')
    expect(await inbox.prompts('ses_1')).toEqual(['msg_1'])
    expect(await inbox.withdraw('ses_1', 'msg_1')).toBe(false)
    expect(deleted).toEqual([])
  })

  test('stays on a preview build also if that was not asked for anything before', async () => {
    const { inbox, deleted } = setInbox('pending')
    expect([await inbox.withdraw('ses_1', 'msg_1'), deleted]).toEqual([false, []])
  })

  test('is taken back from 2.0 on', async () => {
    const { inbox, deleted } = setInbox('inbox')
    expect(await inbox.withdraw('ses_1', 'msg_1')).toBe(true)
    expect(deleted).toEqual(['/session/ses_1/inbox/msg_1'])
  })

  test('is not taken back if it has begun: its message is there', async () => {
    const { inbox, store } = setInbox('inbox')
    store()
    expect(await inbox.withdraw('ses_1', 'msg_1')).toBe(false)
  })

  test.each(['gone', 'refused'] as const)('is not taken back if the server answers that it is %s', async (type) => {
    const { inbox } = setInbox('inbox', () => {
      throw new ReplyError(type, 'no')
    })
    expect(await inbox.withdraw('ses_1', 'msg_1')).toBe(false)
  })

  test('may or may not be taken back if the server does not answer', async () => {
    const { inbox } = setInbox('inbox', () => {
      throw new ReplyError('unreachable', 'no')
    })
    await expect(inbox.withdraw('ses_1', 'msg_1')).rejects.toMatchObject({ type: 'unreachable' })
  })

  test('of another id is not there to take back', async () => {
    const { inbox, deleted } = setInbox('inbox')
    expect([await inbox.withdraw('ses_1', 'msg_2'), deleted]).toEqual([false, []])
  })
})
