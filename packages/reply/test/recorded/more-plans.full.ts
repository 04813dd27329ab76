import { playPlans } from './plans.ts'

playPlans({ first: 2751, count: 2250 })
