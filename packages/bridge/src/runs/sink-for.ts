import type { Sink } from '@reply/sink'
import type { Execution } from '../registry/execution.ts'
import type { Route } from '../routes/decode.ts'
import type { BridgeContext } from './context.ts'

/** The sink that shows an execution in its place. */
export function sinkFor(
  { channels, people, router }: Pick<BridgeContext, 'channels' | 'people' | 'router'>,
  { id, prompt }: Execution,
  { isVerbose }: Route,
): Sink {
  const { channel, chat, actor } = prompt
  const { enabled, toolThrottleMs, heartbeatMs } = router.progress
  const verbosity = enabled ? 'verbose' : 'quiet'
  const { policy, words } = channels.sinkFields(channel)
  return channels.of(channel).sinkFor(
    { chat, replyTo: prompt.messageRef },
    {
      policy: { toolThrottleMs, heartbeatMs, ...policy, ...((isVerbose || !enabled) && { verbosity }) },
      words,
      label: id,
      mentions: (type) => people.answerers(type, channel, actor),
      mayAnswer: (who, ask) => {
        const person = people.find(channel, who)
        if (person?.may.has('approve')) return true
        return ask.type === 'question' && who.id === actor.id && person?.may.has('prompt') === true
      },
    },
  )
}
