import { type Change, escapeInvisible } from '@reply/core'
import type { ComponentChildren } from 'preact'
import { type InspectedFrame, type InspectedStep, innerChange, partOfChange } from '../../src/inspect/frame.ts'
import { indented, prettyJson } from './format.ts'
import { LongText } from './long-text.tsx'
import { texts } from './texts.ts'

interface DetailsProps {
  readonly frame: InspectedFrame
  readonly isEnd: boolean
  readonly go: (moment: number) => void
}

/** The frame as it arrived. */
export function Raw({ frame, isEnd }: DetailsProps): ComponentChildren {
  if (isEnd) return <p class="note">{texts.rawEnd}</p>
  return <LongText text={indented(frame.data)} />
}

/** What `decode` made of it. */
export function Decoded({ frame }: DetailsProps): ComponentChildren {
  return (
    <>
      {frame.noEvents && <p class="note">{texts.noEvents[frame.noEvents]}</p>}
      {frame.errors.length > 0 && (
        <>
          <h2>{texts.errors}</h2>
          {frame.errors.map((error, index) => (
            <p key={index} class="error">
              {escapeInvisible(error)}
            </p>
          ))}
        </>
      )}
      {frame.events.map((event, index) => (
        <LongText key={index} text={prettyJson(event)} />
      ))}
    </>
  )
}

/** Which sessions and runs `track` gave it, and what it held. */
export function Tracked({ frame, go }: DetailsProps): ComponentChildren {
  const replies = new Map(frame.steps.map(({ sessionID, run }) => [`${sessionID} ${run}`, { sessionID, run }]))
  return (
    <>
      {frame.held && (
        <p class="note">
          {texts.held}{' '}
          {frame.held.until !== undefined && (
            <>
              {frame.held.dropped ? texts.heldDropped : texts.heldUntil} <FrameLink index={frame.held.until} go={go} />
            </>
          )}
        </p>
      )}
      {frame.released.length > 0 && (
        <p class="note">
          {texts.released}{' '}
          {frame.released.slice(0, 20).map((index) => (
            <>
              <FrameLink key={index} index={index} go={go} />{' '}
            </>
          ))}
          {frame.released.length > 20 && texts.more(frame.released.length - 20)}
        </p>
      )}
      {replies.size === 0 && <p class="note">{texts.noSteps}</p>}
      {[...replies].map(([key, { sessionID, run }]) => (
        <dl key={key} class="facts">
          <div>
            <dt>{texts.session}</dt>
            <dd>
              <code>{escapeInvisible(sessionID)}</code>
            </dd>
          </div>
          <div>
            <dt>{texts.run}</dt>
            <dd>{run}</dd>
          </div>
        </dl>
      ))}
    </>
  )
}

function FrameLink({
  index,
  go,
}: {
  readonly index: number
  readonly go: (moment: number) => void
}): ComponentChildren {
  return (
    <button type="button" class="link" onClick={() => go(index)}>
      {texts.frame} {index + 1}
    </button>
  )
}

interface ChangesProps extends DetailsProps {
  readonly followed: string | undefined
  readonly follow: (partID: string | undefined) => void
}

/** What `reduce` changed. */
export function Changes({ frame, followed, follow }: ChangesProps): ComponentChildren {
  if (frame.steps.length === 0) return <p class="note">{texts.noSteps}</p>
  return (
    <>
      {followed !== undefined && (
        <p class="note">
          {texts.followed}{' '}
          <button type="button" class="link" onClick={() => follow(undefined)}>
            {texts.unfollow}
          </button>
        </p>
      )}
      {frame.steps.map((step, index) => (
        <Step key={index} step={step} followed={followed} follow={follow} />
      ))}
    </>
  )
}

interface StepProps extends Pick<ChangesProps, 'followed' | 'follow'> {
  readonly step: InspectedStep
}

function Step({ step, followed, follow }: StepProps): ComponentChildren {
  if (step.changes.length === 0) return <p class="note">{texts.noChanges}</p>
  return (
    <ol class="changes">
      {step.changes.map((change, index) => {
        const partID = partOfChange(change)
        return (
          <li key={index}>
            <div class="change-head">
              <code>
                {change.type === 'childChanged' &&
                  texts.ofSubAgent(escapeInvisible(change.child.agent ?? change.child.reply.sessionID))}
                {innerChange(change).type}
              </code>
              {partID !== undefined && partID !== followed && (
                <button type="button" class="link" onClick={() => follow(partID)}>
                  {texts.followPart}
                </button>
              )}
            </div>
            <LongText text={prettyJson(contentOf(change))} />
          </li>
        )
      })}
    </ol>
  )
}

/** What a change says besides its type. A text that grew is shown by its delta, not as a whole. */
function contentOf(change: Change): unknown {
  const { type: _, ...rest } = innerChange(change)
  if (!('delta' in rest) || rest.delta === undefined) return rest
  const { id, messageID, type } = rest.part
  return { index: rest.index, delta: rest.delta, part: { id, messageID, type } }
}
