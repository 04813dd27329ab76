import type { ReactNode } from 'react'

/** A prompt that the page offers. */
export interface Suggestion {
  readonly label: string
  readonly prompt: string
}

/** What the chat does: `busy` while an answer comes, `asks` while it waits for a person. */
export type ChatState = 'ready' | 'busy' | 'asks' | 'error'

/** What a person writes, as it is shown. */
export interface ComposerProps {
  readonly suggestions: readonly Suggestion[]
  readonly state: ChatState
  /** What is going on, in one line. */
  readonly activity: string
  /** What is in the field. */
  readonly text: string
  readonly onText: (text: string) => void
  /** Whether nothing can be sent for a moment. */
  readonly isDisabled: boolean
  readonly onSend: (text: string) => void
  readonly onStop: () => void
}

/** Shows what is going on, and the field to write in. Enter sends, Shift and Enter begin a new line. */
export function Composer(props: ComposerProps): ReactNode {
  const { suggestions, state, activity, text, onText, isDisabled, onSend, onStop } = props
  const isRunning = state === 'busy' || state === 'asks'
  const send = (): void => {
    const trimmed = text.trim()
    if (trimmed === '' || isRunning || isDisabled) return
    onSend(trimmed)
    onText('')
  }
  return (
    <footer className="foot">
      <output className="status" data-state={state}>
        <span>{activity}</span>
      </output>
      <fieldset className="suggestions" aria-label="Suggestions" disabled={isDisabled || isRunning}>
        {suggestions.map(({ label, prompt }) => (
          <button key={label} type="button" className="button" onClick={() => onSend(prompt)}>
            {label}
          </button>
        ))}
      </fieldset>
      <form
        className="composer"
        onSubmit={(event) => {
          event.preventDefault()
          send()
        }}
      >
        <textarea
          rows={1}
          aria-label="Message"
          placeholder="Write to the agent"
          value={text}
          onChange={({ target }) => onText(target.value)}
          onKeyDown={(event) => {
            if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
            event.preventDefault()
            send()
          }}
        />
        {isRunning ? (
          <button type="button" className="button" onClick={onStop}>
            Stop
          </button>
        ) : (
          <button type="submit" className="button primary" disabled={isDisabled || text.trim() === ''}>
            Send
          </button>
        )}
      </form>
    </footer>
  )
}
