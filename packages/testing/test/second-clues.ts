import { before, type Clue, event, events, kept } from './evidence.ts'

const delivered = (count: number): Clue => events(count, 'session.input.promoted')
const runs = (count: number): Clue => events(count, 'session.execution.started')
const restarted = events(2, 'server.connected')
const woken = event('session.input.admitted', '"type":"synthetic"')

/** What the recordings must show that only OpenCode 2 has. */
export const secondClues: readonly (readonly [string, readonly Clue[]])[] = [
  ['queue', [runs(1), delivered(2), kept('The queued prompt has its turn.')]],
  ['queue-tool', [runs(1), delivered(2), kept('Waited, and now I am done.', 'The queued prompt has its turn.')]],
  ['queue-twice', [runs(1), delivered(3), kept('The second queued prompt has its turn.')]],
  ['queue-and-steer', [runs(1), delivered(3), kept('The steering prompt took over.')]],
  ['queue-failed', [event('session.execution.failed'), runs(2), kept('The queued prompt has its turn.')]],
  ['parked', [event('session.execution.interrupted', '"user"'), runs(2), delivered(3)]],
  ['parked-by-rejection', [event('session.execution.interrupted', '"shutdown"'), runs(2), delivered(2)]],
  ['steer-permission', [runs(1), delivered(2), event('permission.replied', '"once"')]],
  ['permission-always-again', [events(1, 'permission.asked'), events(2, 'session.tool.success')]],
  ['prompt-repeated', [runs(2), events(1, 'session.input.admitted'), delivered(1)]],
  ['shell-background', [woken, kept('moved to the background')]],
  ['question-unanswered', [event('form.replied', '"answer":{}'), kept('Unanswered')]],
  ['subagent-rejected', [events(1, 'session.execution.interrupted', '"shutdown"'), kept('was not allowed')]],
  ['subagent-moved', [woken, kept('The moved work is done, I hear.')]],
  ['subagent-background-two', [woken, kept('Left is done, I hear.', 'Right is done, I hear.')]],
  ['revert-staged', [event('session.revert.staged')]],
  ['revert-committed', [before(['session.revert.staged'], ['session.revert.committed'])]],
  ['stopped', [restarted, runs(1)]],
  ['stopped-tool', [restarted, runs(1)]],
  ['stopped-then-prompt', [restarted, runs(2), kept('Here we are again.')]],
]
