import { escapeInvisible } from '@reply/core'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { type ChannelLog, type ChannelText, type ChatMessage, chatAt } from '../../src/inspect/channel.ts'
import { Markdown } from '../view/markdown.tsx'
import type { InspectData } from './data.ts'
import { timeOfDay } from './format.ts'
import { LongText } from './long-text.tsx'
import { texts } from './texts.ts'

/** How often a recording that grows is played again, in ms. */
const againMs = 3000

/** How many frames a live recording has, looked at now and then, and at its end. 0 before, and for one that is whole. */
function useLengthNowAndThen({ state, recording }: InspectData): number {
  const isLive = state === 'live'
  const [length, setLength] = useState(0)
  useEffect(() => {
    if (!isLive) return
    const look = (): void => setLength(recording.length)
    const timer = setInterval(look, againMs)
    return () => {
      clearInterval(timer)
      look()
    }
  }, [isLive, recording])
  return length
}

interface ChatProps {
  readonly data: InspectData
  /** When the moment is. For the end, the time at which all is shown. */
  readonly at: number
  readonly sessionID: string | undefined
}

/** What a channel shows at a moment, by its real layout. */
export function Chat({ data, at, sessionID }: ChatProps): ComponentChildren {
  const [name, setName] = useState(data.channels[0]?.name ?? '')
  const [loaded, setLoaded] = useState<{ readonly log?: ChannelLog; readonly error?: string }>({})
  const logs = useRef(new Map<string, Promise<ChannelLog>>())
  const shownName = useRef('')
  const length = useLengthNowAndThen(data)
  useEffect(() => {
    if (name === '') return
    let isWanted = true
    if (shownName.current !== name) setLoaded({})
    shownName.current = name
    const key = `${name} ${length}`
    const log = logs.current.get(key) ?? data.channel(name)
    // One of a recording that grows is of no use later.
    if (data.state !== 'live') logs.current.set(key, log)
    log.then(
      (one) => isWanted && setLoaded({ log: one }),
      (error: unknown) => isWanted && setLoaded({ error: error instanceof Error ? error.message : String(error) }),
    )
    return () => {
      isWanted = false
    }
  }, [name, length])
  if (data.channels.length === 0) return <p class="note">{texts.noChannels}</p>
  return (
    <>
      <label class="channel">
        {texts.channel}{' '}
        <select value={name} onChange={(event) => setName(event.currentTarget.value)}>
          {data.channels.map((channel) => (
            <option key={channel.name} value={channel.name}>
              {channel.title}
            </option>
          ))}
        </select>
      </label>
      {loaded.error !== undefined && <p class="error">{texts.channelFailed(loaded.error)}</p>}
      {loaded.log === undefined && loaded.error === undefined && <p class="note">{texts.loadingChannel}</p>}
      {loaded.log && <Picture log={loaded.log} at={at} sessionID={sessionID ?? ''} />}
    </>
  )
}

function Picture({
  log,
  at,
  sessionID,
}: {
  readonly log: ChannelLog
  readonly at: number
  readonly sessionID: string
}): ComponentChildren {
  const { messages, preview, isTyping, counts, used } = chatAt(log, sessionID, at)
  const total = counts.reduce((sum, [, count]) => sum + count, 0)
  return (
    <>
      <ul class="budgets" aria-label={texts.budgets}>
        {log.budgets.map((budget, index) => (
          <li key={index}>
            <span class="budget-of">{texts.budgetOf[budget.of] ?? budget.of}</span>
            <meter
              min={0}
              max={budget.calls}
              value={used[index] ?? 0}
              aria-label={texts.budgetOf[budget.of] ?? budget.of}
            />
            <span>{texts.budget(used[index] ?? 0, budget.calls, Math.round(budget.perMs / 100) / 10)}</span>
          </li>
        ))}
      </ul>
      <p class="note">
        {texts.calls(total)}
        {counts.map(([kind, count]) => `, ${kind} ${count}`).join('')}
      </p>
      <ol class="bubbles">
        {messages.map((message) => (
          <Message key={message.id} message={message} log={log} />
        ))}
        {preview && (
          <li class="bubble preview">
            <p class="bubble-meta">{texts.preview}</p>
            <div class="bubble-text">
              <Markdown text={preview.source} />
            </div>
          </li>
        )}
      </ol>
      {messages.length === 0 && !preview && <p class="note">{texts.emptyChat}</p>}
      {isTyping && <p class="note">{texts.typing}</p>}
      {log.isCut && <p class="note">{texts.channelCut}</p>}
    </>
  )
}

function Message({ message, log }: { readonly message: ChatMessage; readonly log: ChannelLog }): ComponentChildren {
  const { content, streamed, files, tasks, changes, isSilent, postedAt } = message
  return (
    <li class="bubble">
      <p class="bubble-meta">
        <span>{timeOfDay(postedAt)}</span>
        {changes > 0 && <span>{texts.edited(changes)}</span>}
        {isSilent && <span>{texts.silent}</span>}
        {content && <span>{texts.length(content.length, log.maxLength)}</span>}
      </p>
      {tasks.map((task) => (
        <p key={task.id} class="bubble-task">
          {escapeInvisible(task.title)} <span class="soft">{task.status}</span>
        </p>
      ))}
      {files.map((file) => (
        <p key={file} class="bubble-task">
          {escapeInvisible(file)}
        </p>
      ))}
      {log.isTerminal ? (
        <LongText text={streamed ?? ''} />
      ) : (
        <div class="bubble-text">
          <Markdown text={content?.source ?? streamed ?? ''} />
        </div>
      )}
      {content && <Buttons content={content} />}
      {content && content.text !== content.source && (
        <details>
          <summary>{texts.markup}</summary>
          <LongText text={content.text} />
        </details>
      )}
    </li>
  )
}

function Buttons({ content }: { readonly content: ChannelText }): ComponentChildren {
  return content.buttons.map((row, index) => (
    <p key={index} class="bubble-buttons">
      {row.map((label, at) => (
        <span key={at} class="bubble-button">
          {escapeInvisible(label)}
        </span>
      ))}
    </p>
  ))
}
