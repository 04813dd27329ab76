import type { Ask } from '@reply/core'
import type { Actor, Sink } from '@reply/sink'
import { placeKey } from '../place.ts'
import type { Execution } from '../registry/execution.ts'
import type { Route } from '../routes/decode.ts'
import type { Shown } from './active-run.ts'
import { isClosing } from './close-shown.ts'
import type { BridgeContext } from './context.ts'
import type { Told } from './mirrored.ts'

type SinkContext = Pick<BridgeContext, 'channels' | 'people' | 'router' | 'mirrors'>

/**
 * The sinks that show an execution: that of its own place first, then those of the place's mirrors, which wait for
 * the words that it answers, but not long: see `tellMirrors`. Without `told`, as after a restart, they wait for nothing.
 */
export function sinksFor(
  context: SinkContext,
  execution: Execution,
  route: Route,
  told?: Told,
): readonly [Shown, ...Shown[]] {
  const { prompt } = execution
  const others = context.mirrors.others(prompt).filter(({ channel }) => context.channels.has(channel))
  const shownAt = ({ channel, chat }: Pick<Shown, 'channel' | 'chat'>): Shown => {
    const sink = sinkFor(context, { execution, route, channel, chat })
    return { channel, chat, sink, after: told?.get(placeKey({ channel, chat })) }
  }
  return [shownAt(prompt), ...others.map(shownAt)]
}

interface Showing extends Pick<Shown, 'channel' | 'chat'> {
  readonly execution: Execution
  readonly route: Route
}

function sinkFor(
  { channels, people, router }: SinkContext,
  { execution: { id, prompt }, route: { isVerbose }, channel, chat }: Showing,
): Sink {
  const { enabled, toolThrottleMs, heartbeatMs } = router.progress
  const verbosity = enabled ? 'verbose' : 'quiet'
  const { policy, texts } = channels.sinkFields(channel)
  return channels.of(channel).sinkFor(
    { chat, ...(chat === prompt.chat && { replyTo: prompt.messageRef }) },
    {
      policy: { toolThrottleMs, heartbeatMs, ...policy, ...((isVerbose || !enabled) && { verbosity }) },
      texts,
      label: id,
      keepsText: isClosing,
      mentions: (type) => people.answerers(type, channel, prompt),
      mayAnswer,
    },
  )

  function mayAnswer(actor: Actor, ask: Ask): boolean {
    const person = people.find(channel, actor)
    if (person?.may.has('approve')) return true
    return ask.type === 'question' && person?.may.has('prompt') === true && people.isAuthor(prompt, { channel, actor })
  }
}
