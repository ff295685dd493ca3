"""Programs as users write them (`capture_user_programs.py`): plain and captured ones agree, and most are one plan."""

import warnings

import pytest
from capture_user_programs import PROGRAMS, run

import cresset

#: Of which the last of eight calls is one plan, from the function's first lines to its end.
WHOLE = """
train_with_SGD train_with_SGD_momentum_nesterov train_with_Adam train_with_AdamW train_with_RMSprop train_with_RMSprop_centered_momentum
train_with_Adagrad train_with_Adadelta train_with_NAdam train_with_ASGD train_with_Rprop train_with_AdamW_foreach clip_grad_norm clip_grad_value
scheduled scaled averaged_by_hand accumulating frozen_layers tied_weights evaluation_loop evaluation_under_inference_mode second_group_with_decay gan
vae diffusion_step diffusion_sampling contrastive maml_along_the_tape message_passing attention_over_neighbours greedy_decoding_with_cache
sampling_with_temperature straight_through distillation mixture_of_experts mixup_with_label_smoothing segmentation_with_dice projected_attack
translation_with_teacher_forcing packed_sequences speech_with_ctc spectral_loss normalizing_flow differential_equation physics_informed
vector_quantization gumbel_and_sinkhorn radiance_field word_vectors conditional_random_field per_sample_gradients hessian_vector_product
gaussian_process triplets_with_hard_negatives hyper_network sets_and_masks rotary_attention state_space_scan curriculum_with_state wgan_with_penalty
maml_with_functional_calls adversarial_examples
language_model_with_checkpoints ppo_update scaler_with_clipping detector_with_matched_boxes interest_in_history convolutions_with_normed_weights policies_that_sample
targets_that_follow energies_that_are_conserved greedy_matching solver_by_fourier
""".split()


@pytest.mark.parametrize("name", PROGRAMS)
def test_same_as_plain(name):
    cresset.reset()
    counts = []
    with warnings.catch_warnings(), cresset.options.override(optimizer_errors="raise"):
        warnings.simplefilter("ignore")
        compiled = run(name, counts=counts)
    found = cresset.explain(compiled)
    assert not any(plan.raised for plan in found.plans), found
    assert not any("internal error" in reason for _, reason in found.python), found
    if name in WHOLE:
        ran = [plan for plan, before in zip(found.plans, counts[0], strict=False) if plan.applied > before]
        assert len(ran) == 1, found
