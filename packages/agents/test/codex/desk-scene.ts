import type { Client, Reply } from '@reply/core'
import type { ScriptedModel } from '@reply/testing'
import { collectReplies } from '../collect-replies.ts'

interface DeskStage {
  /** The client that begins the runs. Absent on a recording. */
  readonly desk?: Client | undefined
  readonly model?: ScriptedModel | undefined
}

/**
 * Two runs of a client at the desk. The chat allows what the first one asks, and stops the second one. Resolves with the
 * replies that the chat shows.
 */
export async function playDesk(chat: Client, directory: string, { desk, model }: DeskStage): Promise<readonly Reply[]> {
  let shownID = ''
  const { begun, settled } = collectReplies(chat, directory, {
    permissionAsked: ({ ask }) => {
      shownID = ask.sessionID
      void chat.answer(ask, 'once')
    },
  })
  const first = await desk?.prompt({ text: '[scenario:permission] Go.' }).result
  await begun(1)
  desk?.prompt({ text: '[scenario:slow] Go.', sessionID: first?.sessionID })
  await model?.held('slow')
  await begun(2)
  await chat.abort({ sessionID: shownID })
  return await settled((replies) => replies.length === 2)
}
