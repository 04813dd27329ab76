import type { Payload } from '../payload.ts'
import type { SlackState } from '../state.ts'
import { postEphemeral, postMessage, type Result, remove, update } from './chat.ts'
import { completeUpload, fileInfo, getUploadUrl } from './file.ts'
import { botID, history, replies } from './history.ts'
import { addReaction, removeReaction } from './reaction.ts'
import { appendStream, startStream, stopStream } from './stream.ts'
import { setSession, setStatus } from './thread.ts'
import { openView } from './view.ts'

/** A method of the Web API. `base` is the server's own address. */
export type Method = (state: SlackState, payload: Payload, base: string) => Result

const methods: ReadonlyMap<string, Method> = new Map<string, Method>([
  [
    'auth.test',
    ({ team, bot }) => ({
      ...{ team_id: team, user_id: bot, bot_id: botID },
      ...{ url: 'https://fake.slack.invalid/', team: 'Fake', user: 'fake_bot' },
    }),
  ],
  ['chat.postMessage', postMessage],
  ['chat.postEphemeral', postEphemeral],
  ['chat.update', update],
  ['chat.delete', remove],
  ['chat.startStream', startStream],
  ['chat.appendStream', appendStream],
  ['chat.stopStream', stopStream],
  ['conversations.history', history],
  ['conversations.replies', replies],
  ['assistant.threads.setStatus', setStatus],
  ['agents.sessions.setStatus', setSession],
  ['views.open', openView],
  ['reactions.add', addReaction],
  ['reactions.remove', removeReaction],
  ['files.getUploadURLExternal', getUploadUrl],
  ['files.completeUploadExternal', completeUpload],
  ['files.info', fileInfo],
])

export function methodNamed(name: string): Method | undefined {
  return methods.get(name)
}
