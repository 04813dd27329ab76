/** A person of the demo, who is the same on all platforms. */
export interface Person {
  /** The name in the bridge's config. */
  readonly id: string
  readonly name: string
  readonly may: readonly ('prompt' | 'approve' | 'admin')[]
  /** Tells their accounts apart: 1, 2, … */
  readonly number: number
}

export const ann: Person = { id: 'ann', name: 'Ann', may: ['prompt', 'approve', 'admin'], number: 1 }
export const ben: Person = { id: 'ben', name: 'Ben', may: ['prompt'], number: 2 }
export const people: readonly Person[] = [ann, ben]
